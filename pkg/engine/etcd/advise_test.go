package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestAdviseNeverClearsAlarms: an alarm is never advised away before its cause.
func TestAdviseNeverClearsAlarms(t *testing.T) {
	c := &v1alpha1.DatabaseCluster{}
	c.Name = "db"
	for _, alarm := range []string{"NOSPACE", "CORRUPT"} {
		advice, ok := (&Engine{}).Advise(c, "db-2", alarm)
		said := strings.Join(advice.Remedy, "\n")
		if !ok || advice.Meaning == "" || !strings.Contains(said, "kubectl dbop alarms clear db ") {
			t.Fatalf("%s: %+v, %t", alarm, advice, ok)
		}
		if strings.Contains(said, "disarm") {
			t.Errorf("%s: %s", alarm, said)
		}
	}
	if _, ok := (&Engine{}).Advise(c, "db-2", "NEW"); ok {
		t.Error("advice on an unknown alarm")
	}
}
