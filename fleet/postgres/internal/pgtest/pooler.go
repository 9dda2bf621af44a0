//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoPooler means that there is no PgBouncer on this machine.
var ErrNoPooler = errors.New("no PgBouncer: install Debian's package pgbouncer")

// A Pooler is a PgBouncer in transaction mode before a server, with few connections to it.
type Pooler struct {
	server *Server
	dir    string
	bin    string
	cmd    *exec.Cmd
	ended  chan struct{}
}

// Pooler starts one, with at most so many connections to the server for each role.
func (s *Server) Pooler(connections int) (*Pooler, error) {
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bin, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			return nil, ErrNoPooler
		}
	}
	p := &Pooler{server: s, dir: filepath.Join(s.dir, "pooler"), bin: bin}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, err
	}
	settings := fmt.Sprintf(`[databases]
* = host=%s port=5432
[pgbouncer]
unix_socket_dir = %s
listen_port = 5432
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = %d
server_login_retry = 0.1
`, s.dir, p.dir, p.users(), connections)
	err = errors.Join(
		os.WriteFile(p.settings(), []byte(settings), 0o644),         //nolint:gosec // PgBouncer is somebody else
		os.WriteFile(p.users(), []byte("\"worker\" \"\"\n"), 0o644), //nolint:gosec // the same
	)
	if c := s.as.Credential; err == nil && c != nil {
		err = os.Chown(p.dir, int(c.Uid), int(c.Gid))
	}
	if err == nil {
		err = p.Run()
	}
	return p, err
}

func (p *Pooler) settings() string { return filepath.Join(p.dir, "settings") }
func (p *Pooler) users() string    { return filepath.Join(p.dir, "users") }

// Run starts a pooler that does not run, and waits until it answers.
func (p *Pooler) Run() (err error) {
	if p.cmd, p.ended, err = p.server.spawn(p.bin, filepath.Join(p.dir, "log"), p.settings()); err != nil {
		return err
	}
	return answers(p.Config("worker"), p.ended, filepath.Join(p.dir, "log"))
}

// Config leads to the server by the pooler.
func (p *Pooler) Config(role string) *pgx.ConnConfig {
	c := p.server.Config(role)
	c.Host = p.dir
	return c
}

// Kill ends the pooler.
func (p *Pooler) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = os.Remove(filepath.Join(p.dir, ".s.PGSQL.5432"))
}

// answers waits until there is an answer, or a program has ended, which writes to log.
func answers(config *pgx.ConnConfig, ended <-chan struct{}, log string) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			err = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log)
			return fmt.Errorf("it has ended: %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
