package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestAdviseDisarmsLast: an alarm is never advised away before its cause.
func TestAdviseDisarmsLast(t *testing.T) {
	c := &v1alpha1.DatabaseCluster{}
	c.Name = "db"
	for _, alarm := range []string{"NOSPACE", "CORRUPT"} {
		advice, ok := (&Engine{}).Advise(c, "db-2", alarm)
		if !ok || advice.Meaning == "" {
			t.Fatalf("%s: %+v, %t", alarm, advice, ok)
		}
		for i, remedy := range advice.Remedy {
			if last := i == len(advice.Remedy)-1; strings.Contains(remedy, "alarm disarm") != last {
				t.Errorf("%s: remedy %d is %q", alarm, i, remedy)
			}
		}
	}
	if _, ok := (&Engine{}).Advise(c, "db-2", "NEW"); ok {
		t.Error("advice on an unknown alarm")
	}
}
