package table

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// An Answer is a solver's.
type Answer string

// The answers. Whatever else a solver says, "unknown" for one, is a failure.
const (
	Unsat Answer = "unsat"
	Sat   Answer = "sat"
)

// Commands are the solvers that are known. A question has a minute: what is not answered then is
// not proved.
var Commands = map[string][]string{
	"z3":   {"z3", "-in", "-smt2", "-t:60000"},
	"cvc5": {"cvc5", "--incremental", "--lang=smt2", "--tlimit-per=60000"},
}

// A Solver is a running process, which is asked one question after the other.
type Solver struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a solver.
func Start(name string) (*Solver, error) {
	c := Commands[name]
	if c == nil {
		return nil, fmt.Errorf("no solver %q is known", name)
	}
	s := &Solver{cmd: exec.Command(c[0], c[1:]...)}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.say("(set-logic ALL)\n")
}

// Close ends the process.
func (s *Solver) Close() error {
	if err := s.in.Close(); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// say sends commands that have no answer.
func (s *Solver) say(text string) error {
	_, err := io.WriteString(s.in, text)
	return err
}

// ask returns the answer to what has been asserted.
func (s *Solver) ask() (Answer, error) {
	if err := s.say("(check-sat)\n"); err != nil {
		return "", err
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", err
	}
	a := Answer(strings.TrimSpace(line))
	if strings.HasPrefix(string(a), "(error") {
		return "", fmt.Errorf("the solver does not understand: %s", a)
	}
	return a, nil
}

// scope runs f, and forgets what it has asserted.
func (s *Solver) scope(f func() error) error {
	if err := s.say("(push 1)\n"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return s.say("(pop 1)\n")
}

// within asks with assertions that hold for this question only.
func (s *Solver) within(text string) (a Answer, err error) {
	err = s.scope(func() error {
		if err := s.say(text); err != nil {
			return err
		}
		a, err = s.ask()
		return err
	})
	return a, err
}
