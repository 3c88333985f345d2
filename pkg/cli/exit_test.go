package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func TestExitDone(t *testing.T) {
	b := clitest.New(t)
	if r := b.Run("create", "my-db", "--engine", "fakedb"); r.Code != exit.Done || r.Out != "fakedb/my-db created\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestExitNotFound(t *testing.T) {
	b := clitest.New(t)
	r := b.Run("scale", "nope", "--members", "3")
	if r.Code != exit.NotFound || !strings.Contains(r.Err, "error: cluster nope not found in namespace shop\nhint: ") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}

func TestExitUsage(t *testing.T) {
	b := clitest.New(t)
	for _, args := range [][]string{
		{"nonsense"}, {"create"}, {"create", "my-db"}, {"create", "My_DB", "--engine", "fakedb"},
		{"create", strings.Repeat("a", 41), "--engine", "fakedb"},
		{"scale", "my-db"}, {"upgrade", "my-db"}, {"list", "--nope"}, {"list", "my-db"}, {"list", "-o", "xml"},
		{"list", "my-db", "-A"},
		{"backup", "describe", "../../etc"}, {"create", "a", "--engine", "fakedb", "--storage", "many"},
		{"create", "a", "--engine", "fakedb", "--dry-run=maybe"},
		{"create", "a", "--engine", "fakedb", "--progress=loud"}, {"list", "--color=pink"}, {"plan", "nonsense"},
		{"backup", "x", "--to", "/a", "--repository", "dir:/b"},
		{"connect", "my-db", "get"}, {"completion", "cmd"}, {"help", "nonsense"}, {"help", "backup", "nonsense"},
		{"help", "create", "more"}, {"scale", "x", "--members", "3", "--timeout", "0s"},
	} {
		r := b.Run(args...)
		if r.Code != exit.Usage || !strings.HasPrefix(r.Err, "error: ") || !strings.Contains(r.Err, "usage: kubectl dbop") {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
		if r.Out != "" {
			t.Errorf("%v printed a result: %s", args, r.Out)
		}
	}
}

func TestExitUnchanged(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("scale", "my-db", "--members", "3"); r.Code != exit.Done || r.Out != "fakedb/my-db unchanged\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("scale", "my-db", "--members", "3", "--error-unchanged"); r.Code != exit.Unchanged ||
		r.Out != "fakedb/my-db unchanged\n" || strings.Contains(r.Err, "error") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestExitRefused(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, args := range [][]string{
		{"scale", "my-db", "--members", "4"}, {"scale", "my-db", "--members", "9"},
		{"create", "even", "--engine", "fakedb", "--members", "2"},
		{"create", "my-db", "--engine", "fakedb", "--version", "3.6"}, {"upgrade", "my-db", "--version", "3.7"},
	} {
		r := b.Run(append(args, "--progress", "none")...)
		if r.Code != exit.Refused || !strings.HasPrefix(r.Err, "error: ") || !strings.Contains(r.Err, "\nhint: ") {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
	}
	b.LockErr = &lease.HeldError{Cluster: "my-db", Holder: "bob@laptop"}
	r := b.Run("scale", "my-db", "--members", "5")
	if r.Code != exit.Busy || !strings.Contains(r.Err, "bob@laptop") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}

func TestExitTimedOut(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Cluster.Before = func(ops.Step) error { return engine.ErrNotReady }
	r := b.Run("scale", "my-db", "--members", "5", "--timeout", "300ms", "--progress", "none")
	if r.Code != exit.TimedOut || !strings.Contains(r.Err, "hint: ") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}

func TestExitInterruptedAtSafePoint(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Cluster.Before = func(ops.Step) error {
		b.Signals <- os.Interrupt
		return engine.ErrNotReady
	}
	r := b.Run("scale", "my-db", "--members", "5", "--progress", "none")
	if r.Code != exit.Interrupted || !strings.Contains(r.Err, "Stopping at the next safe point") ||
		!strings.Contains(r.Err, "hint: ") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	b.Cluster.Before = nil
	if r := b.Run("scale", "my-db", "--members", "5", "--progress", "none"); r.Code != exit.Done {
		t.Errorf("the same command does not continue: exit %d\n%s", r.Code, r.Err)
	}
}

// TestExitUnknown: what does not exist in any cluster is a mistake of who typed it.
func TestExitUnknown(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, args := range [][]string{
		{"create", "a", "--engine", "oracle"}, {"create", "a", "--engine", "fakedb", "--version", "9.9"},
		{"member", "remove", "my-db", "my-db-9", "--yes"}, {"user", "delete", "my-db", "nobody", "--yes"},
		{"user", "show", "my-db", "nobody"},
	} {
		if r := b.Run(args...); r.Code != exit.Usage || !strings.HasPrefix(r.Err, "error: ") ||
			!strings.Contains(r.Err, "\nhint: ") {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
	}
}

// TestExitCodesOfErrors: what Kubernetes or the database answered tells by its code.
func TestExitCodesOfErrors(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	for _, row := range []struct {
		code int
		err  error
	}{
		{exit.Failed, errors.New("plain")},
		{exit.Failed, &ops.Error{Kind: ops.Failed, Message: "secrets", Err: kube.ErrNotFound}},
		{exit.Failed, &kube.ForbiddenError{Denied: "a quota", Err: forbidden}},
		{exit.NotFound, &ops.Error{Kind: ops.Failed, Err: repository.ErrNotFound}},
		{exit.Forbidden, &kube.ForbiddenError{Err: forbidden}},
		{exit.Forbidden, apierrors.NewUnauthorized("no")},
		{exit.Unreachable, &kube.UnreachableError{Server: "x", Err: errors.New("refused")}},
		{exit.Unreachable, &kube.ConfigError{Reason: "none"}},
		{exit.Unreachable, kube.ErrTimeout},
		{exit.NeedsHuman, &ops.Error{Kind: ops.NeedsHuman}},
		{exit.Busy, &ops.Error{Kind: ops.Busy}},
		{exit.Cancelled, &ops.Error{Kind: ops.Failed, Check: ops.CheckCancelled}},
		{exit.TimedOut, context.DeadlineExceeded},
	} {
		if code := exit.Code(t.Context(), fmt.Errorf("wrapped: %w", row.err)); code != row.code {
			t.Errorf("%v: exit %d, want %d", row.err, code, row.code)
		}
	}
}

// TestExitCodesAreDocumented: the table names the codes that there are, and no others.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/conventions.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(raw), -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, code := range []int{exit.Done, exit.Failed, exit.Usage, exit.Unchanged, exit.Refused, exit.Busy, exit.NotFound,
		exit.Forbidden, exit.Unreachable,
		exit.NeedsHuman, exit.Degraded, exit.Down, exit.Cancelled, exit.TimedOut, exit.Interrupted} {
		want = append(want, strconv.Itoa(code))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/conventions.md (-want +got):\n%s", diff)
	}
}

func TestAContinuedBackupKeepsItsName(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Cluster.Before = func(ops.Step) error {
		b.Signals <- os.Interrupt
		return engine.ErrNotReady
	}
	if r := b.Run("backup", "my-db", "--progress", "none"); r.Code != exit.Interrupted {
		t.Fatalf("exit %d\n%s", r.Code, r.Err)
	}
	b.Cluster.Before = nil
	b.Now = clitest.Noon.Add(time.Hour)
	r := b.Run("backup", "my-db", "--progress", "none", "-o", "name")
	if r.Code != exit.Done || r.Out != "backup/my-db-20261121T120000Z-0000\n" {
		t.Errorf("exit %d, %s%s", r.Code, r.Out, r.Err)
	}
}

func TestResumeAndCancel(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, test := range [][3]string{{"resume", "5", "fakedb/my-db operation finished\n"},
		{"cancel", "7", "fakedb/my-db operation cancelled\n"}} {
		verb, members, want := test[0], test[1], test[2]
		b.Cluster.Before = func(s ops.Step) error {
			if s.Action == ops.ActionStart {
				b.Signals <- os.Interrupt
				return engine.ErrNotReady
			}
			return nil
		}
		if r := b.Run("scale", "my-db", "--members", members, "--progress", "none"); r.Code != exit.Interrupted {
			t.Fatalf("exit %d\n%s", r.Code, r.Err)
		}
		b.Cluster.Before = nil
		if r := b.Run("upgrade", "my-db", "--version", "3.6"); r.Code != exit.Busy ||
			!strings.Contains(r.Err, "resume my-db") {
			t.Errorf("another operation in between: exit %d\n%s", r.Code, r.Err)
		}
		if r := b.Run(verb, "--dry-run"); r.Code != exit.Done || !strings.Contains(r.Out, "(dry run)") ||
			!strings.Contains(r.Err, map[string]string{"resume": "Register my-db-5", "cancel": "Withdraw learner"}[verb]) {
			t.Errorf("%s --dry-run: exit %d\n%s%s", verb, r.Code, r.Out, r.Err)
		}
		if r := b.Run(verb, "--progress", "none"); r.Code != exit.Done || r.Out != want {
			t.Errorf("%s: exit %d\n%s%s", verb, r.Code, r.Out, r.Err)
		}
		if r := b.Run("status"); r.Code != exit.Done || !strings.Contains(r.Out, "all 5 members") {
			t.Errorf("after %s: exit %d\n%s", verb, r.Code, r.Out)
		}
		if r := b.Run(verb); r.Code != exit.Done || r.Out != "fakedb/my-db unchanged\n" {
			t.Errorf("%s again: exit %d\n%s%s", verb, r.Code, r.Out, r.Err)
		}
	}
}

func TestHintsOfForeignErrors(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	for name, err := range map[string]error{"forbidden": forbidden, "unauthorized": apierrors.NewUnauthorized("no"),
		"held": &lease.HeldError{}} {
		if command.HintOf(fmt.Errorf("wrapped: %w", err)) == "" {
			t.Errorf("%s has no hint", name)
		}
	}
}
