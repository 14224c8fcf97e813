package sqljournal_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
)

// childVariable makes the test binary a child process that performs the named task.
const childVariable = "UNAVEZ_TEST_CHILD"

// The tasks of a child.
const (
	taskSkew  = "skew"
	taskSell  = "sell"
	taskDrain = "drain"
)

// child returns this test binary as another process.
func child(t testing.TB, task string, environment ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	if task == taskSkew {
		cmd.Args = append(cmd.Args, "-test.run=^TestSkewedSQLite$")
	}
	cmd.Env = append(append(os.Environ(), environment...), childVariable+"="+task)
	return cmd
}

// runChild performs the task and returns the exit code; -1 means that the test binary goes on as such.
func runChild(task string) int {
	var err error
	switch task {
	case taskSkew:
		return -1
	case taskSell:
		err = sell(context.Background())
	case taskDrain:
		err = drainAll(context.Background())
	default:
		err = errors.New("no such task")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childBundle is what the parent put into the environment.
type childBundle struct {
	place    place
	provider string
	db       *sql.DB
	journal  *sqljournal.Journal
	client   *unavez.Client
}

func (p place) environment(provider, url string) []string {
	return []string{"DIALECT=" + string(p.dialect), "DSN=" + p.dsn, "PROVIDER=" + provider, "URL=" + url}
}

// newChild opens the journal, with a wrapper that dies at the point for the key.
func newChild(ctx context.Context, d *death) (*childBundle, error) {
	c := &childBundle{place: place{sqljournal.Dialect(os.Getenv("DIALECT")), os.Getenv("DSN")}, provider: os.Getenv("PROVIDER")}
	var err error
	if c.db, err = c.place.openDB(); err != nil {
		return nil, err
	}
	if c.journal, err = sqljournal.New(ctx, c.db, c.place.dialect); err != nil {
		return nil, err
	}
	c.client, err = makeClient(c.provider, os.Getenv("URL"), dyingJournal{c.journal, d}, unavez.WithMaxWait(2*time.Second),
		unavez.WithMaxAttempts(3), unavez.WithTimeout(5*time.Second), unavez.WithHTTPClient(&http.Client{Transport: dyingTransport{d}}))
	return c, err
}

// drain makes one pass and reports how many operations have not come to an end.
func (c *childBundle) drain(ctx context.Context) (unfinished int, err error) {
	for report, err := range c.journal.Drain(ctx, c.client, sqljournal.WithReservation(20*time.Second)) {
		switch {
		case err != nil && report.Key == "":
			return 0, err
		case errors.Is(err, unavez.ErrRetryLater):
			unfinished++
		}
	}
	return unfinished, nil
}

// sell is the shop that crashes: it finishes what an earlier life left behind, makes one sale, and dies where it is told to.
func sell(ctx context.Context) error {
	n, err := strconv.Atoi(os.Getenv("SALE"))
	if err != nil {
		return err
	}
	d := &death{point: os.Getenv("POINT"), key: fmt.Sprintf("mi-erp:test:op:%d", n)}
	c, err := newChild(ctx, d)
	if err != nil {
		return err
	}
	if _, err := c.drain(ctx); err != nil {
		return err
	}
	if n >= 0 {
		if err := c.sale(ctx, d, n); err != nil {
			return err
		}
	}
	_, err = c.drain(ctx)
	return err
}

func (c *childBundle) sale(ctx context.Context, d *death, n int) error {
	intent, err := c.client.Prepare(operation(c.provider, n), unavez.WithDomainID("op", strconv.Itoa(n)))
	if err != nil {
		return err
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO sales (idempotency_key) VALUES ('"+intent.Key+"')")
	if err == nil {
		err = c.journal.Enqueue(ctx, tx, intent)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	d.at("before the sale is committed", intent.Key)
	if err := tx.Commit(); err != nil {
		return err
	}
	d.at("after the sale is committed", intent.Key)
	return nil
}

// drainAll is one of several replicas: it drains until nothing is left.
func drainAll(ctx context.Context) error {
	c, err := newChild(ctx, &death{})
	if err != nil {
		return err
	}
	for {
		if _, err := c.drain(ctx); err != nil {
			return err
		}
		var left int
		err := c.db.QueryRowContext(ctx, "SELECT count(*) FROM unavez_records WHERE state IN ('queued', 'open')").Scan(&left)
		if err != nil || left == 0 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// death is when the process dies: at a point of the operation with the key.
type death struct{ point, key string }

// points are all places between the sale and the recorded outcome.
func points() []string {
	return []string{
		"before the sale is committed", "after the sale is committed", "before the intent is recorded", "after the intent is recorded",
		"before the request", "while the request is sent", "before the answer", "after the answer",
		"before the outcome is recorded", "after the outcome is recorded", "any time",
	}
}

func (d *death) at(point, key string) {
	if d.point == point && d.key == key {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// dyingJournal dies around Begin and Finish.
type dyingJournal struct {
	*sqljournal.Journal
	death *death
}

func (j dyingJournal) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	j.death.at("before the intent is recorded", intent.Key)
	record, err := j.Journal.Begin(ctx, intent)
	if err == nil && record.Admission.Claims() {
		j.death.at("after the intent is recorded", intent.Key)
	}
	return record, err
}

func (j dyingJournal) Finish(ctx context.Context, claim unavez.Claim, result unavez.Result) error {
	j.death.at("before the outcome is recorded", claim.Key)
	err := j.Journal.Finish(ctx, claim, result)
	j.death.at("after the outcome is recorded", claim.Key)
	return err
}

// dyingTransport dies around a write. The key of the write is the one that is about to die, as there is no other in flight.
type dyingTransport struct{ death *death }

func (t dyingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	key := t.keyOf(request)
	t.death.at("before the request", key)
	if request.Body != nil {
		request.Body = &dyingBody{request.Body, t.death, key, false}
	}
	isLast := t.death.point == "before the answer" && key == t.death.key
	if isLast {
		// The provider has it by then; nobody reads what it answers.
		time.AfterFunc(3*time.Millisecond, func() { t.death.at("before the answer", key) })
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if isLast {
		select {}
	}
	t.death.at("after the answer", key)
	return response, err
}

// keyOf finds the key where it travels, in a header or in the body.
func (t dyingTransport) keyOf(request *http.Request) string {
	if request.Method != http.MethodPost || t.death.key == "" {
		return ""
	}
	if key := request.Header.Get("Idempotency-Key"); key != "" {
		return key
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return ""
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"`+t.death.key+`"`)) {
		return t.death.key
	}
	return ""
}

// dyingBody dies when a part of the body is on its way.
type dyingBody struct {
	io.ReadCloser
	death *death
	key   string
	begun bool
}

func (b *dyingBody) Read(into []byte) (int, error) {
	if b.death.point != "while the request is sent" || b.key != b.death.key {
		return b.ReadCloser.Read(into)
	}
	if b.begun {
		b.death.at(b.death.point, b.key)
	}
	b.begun = true
	return b.ReadCloser.Read(into[:min(len(into), 40)])
}
