package etcd

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

func TestLint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		option, value   string
		version, reason string
	}{
		{name: "known", option: "snapshot-count", value: "5000", version: "3.5.35"},
		{name: "unknown", option: "snapshot-cuont", version: "3.6.16", reason: "not known"},
		{name: "dashes", option: "--snapshot-count", version: "3.6.16", reason: "leading dashes"},
		{name: "managed", option: "initial-cluster-state", version: "3.6.16", reason: "second cluster"},
		{name: "dangerous", option: "force-new-cluster", version: "3.6.16", reason: "throws the others out"},
		{name: "too new", option: "feature-gates", value: "LeaseCheckpoint=true", version: "3.5.35",
			reason: "from etcd 3.6 on"},
		{name: "a gate of theirs", option: "feature-gates", value: "LeaseCheckpoint=true", version: "3.6.16"},
		{name: "a gate of ours", option: "feature-gates", value: "LeaseCheckpoint=true, CompactHashCheck=false",
			version: "3.6.16", reason: "CompactHashCheck is managed"},
		{name: "v2 in 3.5", option: "enable-v2", value: "false", version: "3.5.35"},
		{name: "v2 in 3.6", option: "enable-v2", value: "false", version: "3.6.16", reason: "removed in etcd 3.6"},
		{name: "experimental in 3.6", option: "experimental-memory-mlock", value: "true", version: "3.6.16"},
		{name: "experimental in 3.7", option: "experimental-memory-mlock", version: "3.7.3", reason: "removed in etcd 3.7"},
		{name: "no duration", option: "grpc-keepalive-interval", value: "soon", version: "3.6.16",
			reason: "does not start with"},
		{name: "out of range", option: "bcrypt-cost", value: "99", version: "3.6.16", reason: "does not start with"},
		{name: "none of the choice", option: "metrics", value: "all", version: "3.6.16", reason: "does not start with"},
		{name: "no boolean", option: "pre-vote", value: "perhaps", version: "3.6.16", reason: "does not start with"},
		{name: "no bytes", option: flags.QuotaOption, value: "2Gi", version: "3.6.16", reason: "no positive number"},
		{name: "hours", option: "auto-compaction-retention", value: "8", version: "3.6.16"},
		{name: "a mode that our retention does not fit", option: "auto-compaction-mode", value: "revision",
			version: "3.6.16",
			reason:  "needs a number"},
		{name: "an election before the fifth heartbeat", option: "election-timeout", value: "400", version: "3.6.16",
			reason: "five times"},
		{name: "version", option: "metrics", version: "2.3.8", reason: "not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check := "config"
			switch c.reason {
			case "":
				check = ""
			case "not supported":
				check = "version"
			}
			expect(t, New().Lint(map[string]string{c.option: c.value}, c.version), check, c.reason)
		})
	}
}

func TestLintSaysWhatToUse(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{
		"experimental-watch-progress-notify-interval": "use option watch-progress-notify-interval",
		"experimental-enable-lease-checkpoint":        "use option feature-gates with LeaseCheckpoint=true",
		"enable-v2":                                   "remove enable-v2 from the options",
		"snapshot-cuont":                              "did you mean snapshot-count?",
		"colour":                                      "see etcd --help of that version for its options",
		"bcrypt-cost":                                 "write 4 to 31",
	} {
		if got := hint(New().Lint(map[string]string{option: "1"}, "3.7.3")); got != want {
			t.Errorf("hint for %s is %q, want %q", option, got, want)
		}
	}
}

// TestOptionsAreTheServers compares the tables with the flags that the real
// servers know: a flag they don't know keeps them from starting.
func TestOptionsAreTheServers(t *testing.T) {
	t.Parallel()
	for minor, series := range map[int]string{5: series35, 6: series36, 7: series37} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			server := program(t, series, "etcd")
			for name, o := range flags.All() {
				// The second flag makes it stop before it does anything.
				out, err := exec.CommandContext(t.Context(), server, "--"+name+"=1", "--no-such-flag=1").CombinedOutput()
				if err == nil {
					t.Fatalf("etcd started with --%s and an unknown flag", name)
				}
				unknown := strings.Contains(string(out), "not defined: -"+name+"\n")
				if known := o.Since <= minor && minor <= o.Until; known == unknown {
					t.Errorf("table says that etcd %s knows %s: %v; etcd says unknown: %v", series, name, known, unknown)
				}
			}
			for _, group := range flags.Managed() {
				for _, name := range group.Names {
					if _, both := flags.Find(name); both {
						t.Errorf("%s is both managed and free", name)
					}
				}
			}
		})
	}
}

// TestDefaultsAreTheServers compares the defaults with what the servers' help
// says, where it says anything but the value that means "as usual".
func TestDefaultsAreTheServers(t *testing.T) {
	t.Parallel()
	usual := regexp.MustCompile(`(?m)^\s+--([a-z0-9-]+)[ =]'?([^'\s]+)'?$`)
	for _, release := range []string{"3.5.35", "3.6.16", "3.7.3"} {
		v, err := versions.Supported(release)
		if err != nil {
			t.Fatal(err)
		}
		help, err := exec.CommandContext(t.Context(), program(t, v.Line().String(), "etcd"), "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, m := range usual.FindAllStringSubmatch(string(help), -1) {
			o, known := flags.Find(m[1])
			said := m[2]
			if !known || said == "math.MaxUint32" || m[1] == flags.QuotaOption || m[1] == "backend-batch-limit" {
				continue
			}
			compared++
			if o.Usual(v) != said {
				t.Errorf("etcd %s says that %s is %q by default, the table %q", v.Line(), m[1], said, o.Usual(v))
			}
		}
		if compared < 25 {
			t.Errorf("only %d defaults of etcd %s were compared", compared, v.Line())
		}
	}
}

func TestDefaultsFitTheirKind(t *testing.T) {
	t.Parallel()
	for name, o := range flags.All() {
		if o.Kind.Fits == nil || !o.Kind.Fits(o.Fallback) || (o.Later != "" && !o.Kind.Fits(o.Later)) {
			t.Errorf("the default of %s, %q, is none of: %s", name, o.Fallback, o.Kind.Allowed)
		}
	}
}
