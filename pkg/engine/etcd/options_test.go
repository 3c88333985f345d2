package etcd

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// TestOptionsAreWhatIsRendered: what is not among the options is who the
// member is and whom it trusts, and nothing else decides how it behaves.
func TestOptionsAreWhatIsRendered(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"3.5.35", "3.6.16", "3.7.3"} {
		c := cluster()
		c.Spec.Config = map[string]string{"snapshot-count": "5000"}
		options, err := New().Options(c, v)
		if err != nil {
			t.Fatal(err)
		}
		pod, err := New().Pod(engine.PodInput{Cluster: c, Member: "db-1", Version: v, Peers: []string{"db-1"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if !slices.Contains(pod.Container.Args, "--"+name+"="+options[name]) {
				t.Errorf("%s: option %s=%s is not rendered", v, name, options[name])
			}
		}
		for _, arg := range pod.Container.Args {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			_, option := options[name]
			if _, reserved := flags.ManagedBecause(name); !option && !reserved {
				t.Errorf("%s: %s is rendered, and neither an option nor managed", v, name)
			}
		}
	}
}

// TestDefaultGivenExplicitlyRestartsNobody: the process is the same with it. A
// version with another default is another matter.
func TestDefaultGivenExplicitlyRestartsNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, name, value string
		same                 bool
	}{
		{"3.6.16", "snapshot-count", "10000", true},
		{"3.5.35", "snapshot-count", "10000", false},
		{"3.5.35", "snapshot-count", "100000", true},
		{"3.6.16", flags.ModeOption, flags.OurMode, true},
		{"3.6.16", flags.RetentionOption, flags.OurRetention, true},
		{"3.6.16", flags.RetentionOption, "0", false},
		{"3.6.16", "log-level", "debug", false},
	} {
		plain, given := cluster(), cluster()
		given.Spec.Config = map[string]string{c.name: c.value}
		without, err := New().Options(plain, c.version)
		if err != nil {
			t.Fatal(err)
		}
		with, err := New().Options(given, c.version)
		if err != nil {
			t.Fatal(err)
		}
		if maps.Equal(with, without) != c.same {
			t.Errorf("%s: %s=%s: %v, without it %v", c.version, c.name, c.value, with, without)
		}
	}
}

func TestOptionsFollowTheVolume(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.Spec.Storage.Size = resource.MustParse("2Gi")
	options, err := New().Options(c, "3.6.16")
	if err != nil || options[flags.QuotaOption] != "1073741824" {
		t.Errorf("a volume of 2Gi: quota %s, %v", options[flags.QuotaOption], err)
	}
	c.Spec.Config = map[string]string{"no-such-option": "1"}
	if _, err := New().Options(c, "3.9.0"); err == nil {
		t.Error("a series that nobody knows has options")
	}
}
