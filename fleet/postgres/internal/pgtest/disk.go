//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// ErrNoDisk means that this process may mount no disk of its own: it is not root, or in a container
// that may not.
var ErrNoDisk = errors.New("no right to mount a disk")

// A Disk has a folder of a server's data, and little space.
type Disk struct{ dir string }

// Move puts a folder of the data, as "base" or "pg_wal", on a disk of so many megabytes. The server
// is stopped meanwhile.
func (s *Server) Move(folder string, megabytes int) (d *Disk, err error) {
	d = &Disk{filepath.Join(s.dir, folder)}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		return nil, err
	}
	size := "size=" + strconv.Itoa(megabytes) + "m"
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", size, "tmpfs", d.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoDisk, out)
	}
	s.disks = append(s.disks, d)
	s.Kill()
	from := filepath.Join(s.data(), folder)
	to := s.command("cp", "-R", from+"/.", d.dir)
	if s.as.Credential != nil {
		c := s.as.Credential
		if err := os.Chown(d.dir, int(c.Uid), int(c.Gid)); err != nil {
			return nil, err
		}
	}
	if out, err := to.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cp: %w: %s", err, out)
	}
	if err := errors.Join(os.RemoveAll(from), os.Symlink(d.dir, from)); err != nil {
		return nil, err
	}
	return d, s.Run()
}

func (d *Disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// Fill leaves no space.
func (d *Disk) Fill() error {
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	for size := 1 << 20; size > 0; size /= 2 {
		for b := make([]byte, size); err == nil; {
			_, err = f.Write(b)
		}
		err = nil // no space
	}
	return f.Close()
}

// Free undoes Fill.
func (d *Disk) Free() error { return os.Remove(d.ballast()) }

func (d *Disk) close() error { return exec.Command("umount", "-l", d.dir).Run() }
