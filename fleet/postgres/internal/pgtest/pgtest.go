//go:build unix

// Package pgtest runs PostgreSQL servers for tests, measurements and the example.
package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that there is no PostgreSQL on this machine.
var ErrMissing = errors.New("no PostgreSQL: install Debian's package postgresql, or put initdb into the PATH")

// A Server is one that runs in a folder of its own, and is reached by a socket there.
type Server struct {
	dir     string
	bin     string // the folder of the programs
	as      *syscall.SysProcAttr
	options []string
	cmd     *exec.Cmd
	ended   chan struct{}
	disks   []*Disk
}

// Programs returns the folder of PostgreSQL's programs: that of initdb in the PATH, or the newest
// one where Debian puts them.
func Programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", ErrMissing
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// Start makes a server and starts it, with options as in its file of settings: "fsync=on".
func Start(options ...string) (*Server, error) {
	return start(options, "initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync", "--no-instructions")
}

// Replica starts a standby of s, which is asynchronous until s has it for a synchronous one.
func (s *Server) Replica() (*Server, error) {
	return start(s.options, "pg_basebackup", "-h", s.dir, "-U", "postgres", "-R", "-c", "fast", "--no-sync")
}

// start starts a server whose data a program makes.
func start(options []string, program string, args ...string) (s *Server, err error) {
	s = &Server{options: options}
	if s.bin, err = Programs(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "farad-pg"); err != nil {
		return nil, err
	}
	s.as = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 { // which PostgreSQL refuses
		if err := s.giveAway(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	maker := s.command(filepath.Join(s.bin, program), append(args, "-D", s.data())...)
	if out, err := maker.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: %s", program, err, out), s.Close())
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// giveAway has a user without rights run the server.
func (s *Server) giveAway() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.SysProcAttr = s.dir, s.as
	c.Env = append(os.Environ(), "LC_ALL=C")
	return c
}

// Run starts a server that does not run, and waits until it answers.
func (s *Server) Run() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, o := range append([]string{"fsync=off", "shared_buffers=32MB", "max_connections=400"}, s.options...) {
		args = append(args, "-c", o)
	}
	log := filepath.Join(s.dir, "log")
	for {
		var err error
		if s.cmd, s.ended, err = s.spawn(filepath.Join(s.bin, "postgres"), log, args...); err != nil {
			return err
		}
		err = answers(s.Config("postgres"), s.ended, log)
		if err == nil || !strings.Contains(err.Error(), "pre-existing shared memory block") {
			return err
		}
		time.Sleep(10 * time.Millisecond) // a process of the server that was killed has not noticed yet
	}
}

// spawn starts a program as the user that the server has, which ends with this process. It writes
// to log, which begins anew.
func (s *Server) spawn(program, log string, args ...string) (*exec.Cmd, chan struct{}, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = out.Close() }()
	cmd, ended := s.command(program, args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	as := *s.as
	dieWithParent(&as)
	cmd.SysProcAttr = &as
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // which the program ends with
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(ended)
		}
	}()
	return cmd, ended, <-started
}

// Config leads to the server as a role.
func (s *Server) Config(role string) *pgx.ConnConfig {
	c, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=5432 user=%s dbname=postgres sslmode=disable", s.dir, role))
	if err != nil {
		panic(err)
	}
	return c
}

// Primary leads to that one of several servers which takes writes.
func Primary(role string, servers ...*Server) *pgx.ConnConfig {
	var hosts, ports []string
	for _, s := range servers {
		hosts, ports = append(hosts, s.dir), append(ports, "5432")
	}
	c, err := pgx.ParseConfig(fmt.Sprintf(
		"host=%s port=%s user=%s dbname=postgres sslmode=disable target_session_attrs=read-write",
		strings.Join(hosts, ","), strings.Join(ports, ","), role))
	if err != nil {
		panic(err)
	}
	return c
}

// Kill ends all of the server's processes at once, as the end of its machine does, unless it has
// ended by itself.
func (s *Server) Kill() {
	select {
	case <-s.ended:
	default:
		s.signal(syscall.SIGKILL)
		<-s.ended
	}
}

// Pause stops all of the server's processes.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume has them go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// signal sends a signal to each process of the server. A backend is the leader of a group of its
// own. The first process goes first: it makes others, and those are looked for again.
func (s *Server) signal(sig syscall.Signal) {
	first := s.cmd.Process.Pid
	all := children(first)
	_ = syscall.Kill(first, sig)
	for _, pid := range append(all, children(first)...) {
		_ = syscall.Kill(pid, sig)
	}
}

// children returns the processes whose parent is pid.
func children(pid int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var child, parent int
		var name, state string
		if _, err := fmt.Sscan(string(text), &child, &name, &state, &parent); err == nil && parent == pid {
			all = append(all, child)
		}
	}
	return all
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	if s.cmd != nil {
		s.Kill()
	}
	var err error
	for _, d := range s.disks {
		err = errors.Join(err, d.close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
