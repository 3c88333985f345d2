package cli

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

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func TestExitDone(t *testing.T) {
	b := newBench(t)
	if r := b.run("create", "my-db", "--engine", "fakedb"); r.code != ExitDone || r.out != "fakedb/my-db created\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestExitNotFound(t *testing.T) {
	b := newBench(t)
	r := b.run("scale", "nope", "--members", "3")
	if r.code != ExitNotFound || !strings.Contains(r.err, "error: cluster nope not found in namespace shop\nhint: ") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestExitUsage(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"nonsense"}, {"create"}, {"create", "my-db"}, {"create", "My_DB", "--engine", "fakedb"}, {"create", strings.Repeat("a", 41), "--engine", "fakedb"},
		{"scale", "my-db"}, {"upgrade", "my-db"}, {"list", "--nope"}, {"list", "my-db"}, {"list", "-o", "xml"}, {"list", "my-db", "-A"},
		{"backup", "describe", "../../etc"}, {"create", "a", "--engine", "fakedb", "--storage", "many"}, {"create", "a", "--engine", "fakedb", "--dry-run=maybe"},
		{"create", "a", "--engine", "fakedb", "--progress=loud"}, {"list", "--color=pink"}, {"plan", "nonsense"}, {"backup", "x", "--to", "/a", "--repository", "dir:/b"},
		{"connect", "my-db", "get"}, {"completion", "cmd"}, {"help", "nonsense"}, {"help", "backup", "nonsense"}, {"help", "create", "more"}, {"scale", "x", "--members", "3", "--timeout", "0s"},
	} {
		r := b.run(args...)
		if r.code != ExitUsage || !strings.HasPrefix(r.err, "error: ") || !strings.Contains(r.err, "usage: kubectl dbop") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.err)
		}
		if r.out != "" {
			t.Errorf("%v printed a result: %s", args, r.out)
		}
	}
}

func TestExitUnchanged(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("scale", "my-db", "--members", "3"); r.code != ExitDone || r.out != "fakedb/my-db unchanged\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("scale", "my-db", "--members", "3", "--error-unchanged"); r.code != ExitUnchanged || r.out != "fakedb/my-db unchanged\n" || strings.Contains(r.err, "error") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestExitRefused(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, args := range [][]string{
		{"scale", "my-db", "--members", "4"}, {"scale", "my-db", "--members", "9"}, {"create", "even", "--engine", "fakedb", "--members", "2"},
		{"create", "my-db", "--engine", "fakedb", "--version", "3.6"}, {"upgrade", "my-db", "--version", "3.7"},
	} {
		r := b.run(append(args, "--progress", "none")...)
		if r.code != ExitRefused || !strings.HasPrefix(r.err, "error: ") || !strings.Contains(r.err, "\nhint: ") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.err)
		}
	}
	b.lockErr = &kube.HeldError{Cluster: "my-db", Holder: "bob@laptop"}
	r := b.run("scale", "my-db", "--members", "5")
	if r.code != ExitBusy || !strings.Contains(r.err, "bob@laptop") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestExitTimedOut(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.world.before = func(ops.Step) error { return engine.ErrNotReady }
	r := b.run("scale", "my-db", "--members", "5", "--timeout", "300ms", "--progress", "none")
	if r.code != ExitTimedOut || !strings.Contains(r.err, "hint: ") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestExitInterruptedAtSafePoint(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.world.before = func(ops.Step) error {
		b.signals <- os.Interrupt
		return engine.ErrNotReady
	}
	r := b.run("scale", "my-db", "--members", "5", "--progress", "none")
	if r.code != ExitInterrupted || !strings.Contains(r.err, "Stopping at the next safe point") || !strings.Contains(r.err, "hint: ") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	b.world.before = nil
	if r := b.run("scale", "my-db", "--members", "5", "--progress", "none"); r.code != ExitDone {
		t.Errorf("the same command does not continue: exit %d\n%s", r.code, r.err)
	}
}

func TestSecondSignalLeavesAtOnce(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	ctx, cancel := context.WithCancelCause(t.Context())
	i := &interruption{cancel: cancel}
	gentle := 0
	i.gently(func() { gentle++ })
	i.signal()
	if gentle != 1 || ctx.Err() != nil {
		t.Fatalf("the first signal: gentle %d, context %v", gentle, ctx.Err())
	}
	i.signal()
	if gentle != 1 || !errors.Is(context.Cause(ctx), errInterrupted) {
		t.Fatalf("the second signal: gentle %d, context %v", gentle, context.Cause(ctx))
	}
	if code := exitCode(ctx, ctx.Err()); code != ExitInterrupted {
		t.Errorf("exit %d", code)
	}
}

// TestExitUnknown: what does not exist in any cluster is a mistake of who typed it.
func TestExitUnknown(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, args := range [][]string{
		{"create", "a", "--engine", "oracle"}, {"create", "a", "--engine", "fakedb", "--version", "9.9"},
		{"remove-member", "my-db", "my-db-9", "--yes"}, {"user", "delete", "my-db", "nobody", "--yes"}, {"credentials", "show", "my-db", "nobody"},
	} {
		if r := b.run(args...); r.code != ExitUsage || !strings.HasPrefix(r.err, "error: ") || !strings.Contains(r.err, "\nhint: ") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.err)
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
		{ExitFailed, errors.New("plain")},
		{ExitFailed, &ops.Error{Kind: ops.Failed, Message: "secrets", Err: kube.ErrNotFound}},
		{ExitFailed, &kube.ForbiddenError{Denied: "a quota", Err: forbidden}},
		{ExitNotFound, &ops.Error{Kind: ops.Failed, Err: repository.ErrNotFound}},
		{ExitForbidden, &kube.ForbiddenError{Err: forbidden}},
		{ExitForbidden, apierrors.NewUnauthorized("no")},
		{ExitUnreachable, &kube.UnreachableError{Server: "x", Err: errors.New("refused")}},
		{ExitUnreachable, &kube.ConfigError{Reason: "none"}},
		{ExitUnreachable, kube.ErrTimeout},
		{ExitNeedsHuman, &ops.Error{Kind: ops.NeedsHuman}},
		{ExitBusy, &ops.Error{Kind: ops.Busy}},
		{ExitTimedOut, context.DeadlineExceeded},
	} {
		if code := exitCode(t.Context(), fmt.Errorf("wrapped: %w", row.err)); code != row.code {
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
	for _, code := range []int{ExitDone, ExitFailed, ExitUsage, ExitUnchanged, ExitRefused, ExitBusy, ExitNotFound, ExitForbidden, ExitUnreachable,
		ExitNeedsHuman, ExitDegraded, ExitDown, ExitTimedOut, ExitInterrupted} {
		want = append(want, strconv.Itoa(code))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/conventions.md (-want +got):\n%s", diff)
	}
}

func TestAContinuedBackupKeepsItsName(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.world.before = func(ops.Step) error {
		b.signals <- os.Interrupt
		return engine.ErrNotReady
	}
	if r := b.run("backup", "my-db", "--progress", "none"); r.code != ExitInterrupted {
		t.Fatalf("exit %d\n%s", r.code, r.err)
	}
	b.world.before = nil
	b.now = noon.Add(time.Hour)
	r := b.run("backup", "my-db", "--progress", "none", "-o", "name")
	if r.code != ExitDone || r.out != "backup/my-db-20261121T120000Z-0000\n" {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

func TestResumeAndCancel(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, test := range [][3]string{{"resume", "5", "fakedb/my-db operation finished\n"}, {"cancel", "7", "fakedb/my-db operation cancelled\n"}} {
		verb, members, want := test[0], test[1], test[2]
		b.world.before = func(s ops.Step) error {
			if s.Action == ops.ActionStart {
				b.signals <- os.Interrupt
				return engine.ErrNotReady
			}
			return nil
		}
		if r := b.run("scale", "my-db", "--members", members, "--progress", "none"); r.code != ExitInterrupted {
			t.Fatalf("exit %d\n%s", r.code, r.err)
		}
		b.world.before = nil
		if r := b.run("upgrade", "my-db", "--version", "3.6"); r.code != ExitBusy || !strings.Contains(r.err, "resume my-db") {
			t.Errorf("another operation in between: exit %d\n%s", r.code, r.err)
		}
		if r := b.run(verb, "--dry-run"); r.code != ExitDone || !strings.Contains(r.out, "(dry run)") || !strings.Contains(r.err, map[string]string{"resume": "Register my-db-5", "cancel": "Withdraw learner"}[verb]) {
			t.Errorf("%s --dry-run: exit %d\n%s%s", verb, r.code, r.out, r.err)
		}
		if r := b.run(verb, "--progress", "none"); r.code != ExitDone || r.out != want {
			t.Errorf("%s: exit %d\n%s%s", verb, r.code, r.out, r.err)
		}
		if r := b.run("status"); r.code != ExitDone || !strings.Contains(r.out, "all 5 members") {
			t.Errorf("after %s: exit %d\n%s", verb, r.code, r.out)
		}
		if r := b.run(verb); r.code != ExitDone || r.out != "fakedb/my-db unchanged\n" {
			t.Errorf("%s again: exit %d\n%s%s", verb, r.code, r.out, r.err)
		}
	}
}

func TestHintsOfForeignErrors(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	for name, err := range map[string]error{"forbidden": forbidden, "unauthorized": apierrors.NewUnauthorized("no"), "held": &kube.HeldError{}} {
		if hintOf(fmt.Errorf("wrapped: %w", err)) == "" {
			t.Errorf("%s has no hint", name)
		}
	}
}
