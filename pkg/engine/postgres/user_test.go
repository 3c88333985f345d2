package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckUser(t *testing.T) {
	for name, c := range map[string]struct {
		user v1alpha1.DatabaseUser
		want string
	}{
		"usual":                 {v1alpha1.DatabaseUser{Name: "seller", Prefix: "shop"}, ""},
		"the default database":  {v1alpha1.DatabaseUser{Name: "seller"}, ""},
		"as long as it may be":  {v1alpha1.DatabaseUser{Name: strings.Repeat("u", 55), Prefix: strings.Repeat("d", 63)}, ""},
		"too long":              {v1alpha1.DatabaseUser{Name: strings.Repeat("u", 56)}, "has 56 bytes, and 55 are the most"},
		"the agents'":           {v1alpha1.DatabaseUser{Name: "dbop"}, "agents log in as dbop"},
		"database too long":     {v1alpha1.DatabaseUser{Name: "u", Prefix: strings.Repeat("d", 64)}, "cuts it after 63"},
		"database in bytes":     {v1alpha1.DatabaseUser{Name: "u", Prefix: strings.Repeat("ä", 32)}, "has 64 bytes"},
		"the server's database": {v1alpha1.DatabaseUser{Name: "u", Prefix: "template1"}, "is the server's own"},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Engine{}).CheckUser(c.user)
			refusal, refused := errors.AsType[*engine.Refusal](err)
			if refused != (c.want != "") || refused && !strings.Contains(refusal.Reason, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
