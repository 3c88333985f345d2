package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestExplain: only for damage is a replacement the answer.
func TestExplain(t *testing.T) {
	c := &v1alpha1.DatabaseCluster{}
	c.Name = "db"
	for words, want := range map[string]struct {
		meaning string
		replace bool
	}{
		"discovery failed: d992fcaac85263c8 found data inconsistency with peers": {"differs from the others'", true},
		"failed to open WAL: walpb: crc mismatch":                                {"damaged", true},
		"flag provided but not defined: -feature-gates":                          {"another version", false},
		"open /var/lib/etcd/data/member/snap/db: permission denied":              {"nothing is lost", false},
	} {
		advice, ok := (&Engine{}).Explain(c, "db-2", words)
		text := advice.Meaning + " " + strings.Join(advice.Remedy, " ")
		if !ok || !strings.Contains(text, want.meaning) || strings.Contains(text,
			"kubectl dbop member replace db db-2") != want.replace {
			t.Errorf("%s: %+v, %t", words, advice, ok)
		}
	}
	if _, ok := (&Engine{}).Explain(c, "db-2", "the weather is bad"); ok {
		t.Error("unknown words were explained")
	}
}
