//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// byItself is how long a cluster may take to be well again before the next remedy is typed.
	byItself = 20 * time.Second
	// remedies is how many commands one case may take.
	remedies = 4
)

var (
	// aCommand is a command as status and diagnose print one.
	aCommand = regexp.MustCompile(`kubectl [^;,()]+`)
	// looking are commands that change nothing.
	looking = regexp.MustCompile(`^kubectl (dbop (-n \S+ )?(status|diagnose|logs|plan|history|list|backup .*)|get|describe|logs|events) `)
)

// findings are the lines that status and diagnose print.
func (x *tampering) findings() []string {
	x.Helper()
	var out []string
	for _, verb := range []string{"status", "diagnose"} {
		r := x.try(verb, "my-db")
		for line := range strings.Lines(r.Stdout + r.Stderr) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// news are the lines that were not printed before.
func (x *tampering) news() []string {
	x.Helper()
	return slices.DeleteFunc(x.findings(), func(line string) bool { return slices.Contains(x.known, line) })
}

// named waits until the object is named as what differs, and says after how
// long. An operator may have mended it before anybody could see it.
func (x *tampering) named(began time.Time, changed object, d deed) string {
	x.Helper()
	var said string
	x.within(namedWithin-time.Since(began), "status or diagnose to name "+x.object.kind+" "+x.object.name, func() error {
		news := x.news()
		took := time.Since(began).Round(100 * time.Millisecond)
		if slices.ContainsFunc(news, x.names) {
			said = fmt.Sprintf("named after %s", took)
			return nil
		}
		if x.driver == byOperator && x.mended(changed, d) == nil {
			said = fmt.Sprintf("mended within %s", took)
			return nil
		}
		return fmt.Errorf("they say:\n%s", strings.Join(news, "\n"))
	})
	return said
}

// names reports whether a line names the object, with its kind.
func (x *tampering) names(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool {
		return r != '-' && r != '.' && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
	return slices.ContainsFunc(words, func(w string) bool { return strings.TrimRight(w, ".") == x.object.name }) &&
		slices.ContainsFunc(words, func(w string) bool {
			return strings.EqualFold(w, x.object.kind) || strings.EqualFold(w, x.object.kind+"s")
		})
}

// mend types what status and diagnose print until the cluster is as before.
// It returns how many commands that took, and which.
func (x *tampering) mend(changed object, d deed) (int, []string) {
	x.Helper()
	var typed []string
	for {
		wait := byItself
		if len(typed) == 0 && x.driver == byCommand {
			wait = 0 // nothing acts unless it is asked to
		}
		err := harness.Until(x.ctx, wait, "the cluster to be as before",
			func(context.Context) error { return x.mended(changed, d) })
		if err == nil {
			return len(typed), typed
		}
		line := x.remedy(typed)
		if line == "" || len(typed) == remedies {
			x.Fatalf("%v\nnothing else is printed that would mend it, after %q:\n%s", err, typed,
				strings.Join(x.news(), "\n"))
		}
		typed = append(typed, line)
		r := x.shell(line)
		if r.Code == 2 && strings.Contains(r.Stderr, "--yes") {
			r = x.shell(line + " --yes") // as a person who is asked
		}
		if r.Code != 0 {
			x.Errorf("the remedy fails: %s", line)
		}
	}
}

// remedy is the next command that was printed and not typed yet.
func (x *tampering) remedy(typed []string) string {
	x.Helper()
	for _, line := range x.news() {
		c := strings.TrimSpace(aCommand.FindString(line))
		if c != "" && !looking.MatchString(c+" ") && !slices.Contains(typed, c) {
			return c
		}
	}
	return ""
}

// mended says what is not as before.
func (x *tampering) mended(changed object, d deed) error {
	x.Helper()
	if r := x.try("status", "my-db"); r.Code != 0 {
		return errors.New(r.String())
	}
	if x.object.silent || x.object.replaced || d.harmless {
		return nil
	}
	now := x.look()
	switch {
	case now.UID == "":
		return fmt.Errorf("there is no %s %s", x.object.kind, x.object.name)
	case now.DeletionTimestamp != nil:
		return fmt.Errorf("%s %s is being deleted", x.object.kind, x.object.name)
	case now.UID == x.before.UID && now.raw != x.before.raw && now.raw == changed.raw:
		return fmt.Errorf("%s %s is as it was edited", x.object.kind, x.object.name)
	}
	if diff := cmp.Diff(x.before.Labels, now.Labels); diff != "" {
		return fmt.Errorf("the labels of %s %s differ:\n%s", x.object.kind, x.object.name, diff)
	}
	return nil
}
