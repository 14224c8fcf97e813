// Package pgtest starts a throwaway PostgreSQL from the installed binaries, for tests.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled says that there is no initdb in PATH or below /usr/lib/postgresql.
var ErrNotInstalled = errors.New("no PostgreSQL server binaries in PATH or below /usr/lib/postgresql")

// Server is a running PostgreSQL in a temporary folder.
type Server struct {
	// DSN opens its database "postgres" as its superuser.
	DSN string

	folder, bin string
	asPostgres  bool
}

// Start makes a cluster and starts it on a free port of the loopback interface, with the settings ("fsync=off"). PostgreSQL
// refuses to run as root, so root runs it as the user postgres.
func Start(settings ...string) (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder, bin: bin, asPostgres: os.Geteuid() == 0}
	if err := s.start(settings); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// findBinaries prefers the newest version below /usr/lib/postgresql.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "pg_ctl")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrNotInstalled
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

func (s *Server) start(settings []string) error {
	if s.asPostgres {
		chown := exec.CommandContext(context.Background(), "chown", "postgres:", s.folder) //nolint:gosec // a folder of ours
		if out, err := chown.CombinedOutput(); err != nil {
			return fmt.Errorf("chown for the user postgres: %w: %s", err, out)
		}
	}
	if err := s.run("initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "--no-instructions", "-E", "UTF8", "--locale=C"); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s -c max_connections=200", port, s.folder)
	options = strings.Join(append([]string{options}, settings...), " -c ")
	if err := s.run("pg_ctl", "-D", s.data(), "-w", "-l", filepath.Join(s.folder, "log"), "-o", options, "start"); err != nil {
		return err
	}
	s.DSN = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	return nil
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	err := error(nil)
	if _, statErr := os.Stat(filepath.Join(s.data(), "postmaster.pid")); statErr == nil {
		err = s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// run waits for the command alone, not for the server that inherits its output.
func (s *Server) run(name string, args ...string) error {
	command := append([]string{filepath.Join(s.bin, name)}, args...)
	if s.asPostgres {
		command = append([]string{"runuser", "-u", "postgres", "--"}, command...)
	}
	out, err := os.CreateTemp("", "pgtest-output")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())                                                  //nolint:errcheck // temporary
	defer out.Close()                                                            //nolint:errcheck // temporary
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...) //nolint:gosec // programs found below
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}

func freePort() (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close() //nolint:errcheck // only its number is wanted
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("listener has address %s, expected a TCP address", listener.Addr())
	}
	return address.Port, nil
}
