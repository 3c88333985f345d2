package etcd

import (
	"os/exec"
	"strings"
	"testing"
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
		{name: "too new", option: "feature-gates", value: "LeaseCheckpoint=true", version: "3.5.35", reason: "from etcd 3.6 on"},
		{name: "a gate of theirs", option: "feature-gates", value: "LeaseCheckpoint=true", version: "3.6.16"},
		{name: "a gate of ours", option: "feature-gates", value: "LeaseCheckpoint=true, CompactHashCheck=false", version: "3.6.16", reason: "CompactHashCheck is managed"},
		{name: "v2 in 3.5", option: "enable-v2", value: "false", version: "3.5.35"},
		{name: "v2 in 3.6", option: "enable-v2", value: "false", version: "3.6.16", reason: "removed in etcd 3.6"},
		{name: "experimental in 3.6", option: "experimental-memory-mlock", version: "3.6.16"},
		{name: "experimental in 3.7", option: "experimental-memory-mlock", version: "3.7.3", reason: "removed in etcd 3.7"},
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
			for name, o := range options {
				// The second flag makes it stop before it does anything.
				out, err := exec.CommandContext(t.Context(), server, "--"+name+"=1", "--no-such-flag=1").CombinedOutput()
				if err == nil {
					t.Fatalf("etcd started with --%s and an unknown flag", name)
				}
				unknown := strings.Contains(string(out), "not defined: -"+name+"\n")
				if known := o.since <= minor && minor <= o.until; known == unknown {
					t.Errorf("table says that etcd %s knows %s: %v; etcd says unknown: %v", series, name, known, unknown)
				}
			}
			for _, group := range managed {
				for _, name := range group.names {
					if _, both := options[name]; both {
						t.Errorf("%s is both managed and free", name)
					}
				}
			}
		})
	}
}
