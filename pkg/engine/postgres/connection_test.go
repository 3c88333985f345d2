package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = "db", "shop"
	for name, one := range map[string]struct {
		user    engine.User
		members []string
		want    []string
	}{
		"the applications": {engine.User{Name: "client", Grants: []engine.Grant{{}}}, []string{"db-1", "db-3"}, []string{
			"postgresql://client@db-client.shop.svc:5432/app?sslmode=require",
			"postgresql://client@db-readonly.shop.svc:5432/app?sslmode=require",
			"postgresql://client@db-1-0.db.shop.svc:5432,db-3-0.db.shop.svc:5432/app" +
				"?sslmode=require&target_session_attrs=primary"}},
		"a user of another database": {
			engine.User{Name: "amy", Grants: []engine.Grant{{Prefix: "sales & co"}}}, nil, []string{
				"postgresql://amy@db-client.shop.svc:5432/sales%20&%20co?sslmode=require",
				"postgresql://amy@db-readonly.shop.svc:5432/sales%20&%20co?sslmode=require"}},
		"the administrator": {engine.User{Name: "root", Admin: true}, nil, []string{
			"postgresql://root@db-client.shop.svc:5432/postgres?sslmode=require",
			"postgresql://root@db-readonly.shop.svc:5432/postgres?sslmode=require"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, way := range New().Connections(c, one.user, one.members) {
				got = append(got, way.URL.String())
			}
			if diff := cmp.Diff(one.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
