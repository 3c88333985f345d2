package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// databaseFlags say what a new cluster of an engine that speaks SQL holds at first.
type databaseFlags struct{ database, owner, sql string }

func (d *databaseFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&d.database, "database", "",
		"Database to make for an application, with a user of the name that --owner gives.")
	flags.StringVar(&d.owner, "owner", "",
		"User to make who owns that database, with a generated password in a secret; the name of the database if not set.")
	flags.StringVar(&d.sql, "initial-sql", "",
		"Secret whose entries *.sql are carried out once in the new database, in one transaction.")
}

// addTo writes database, user and SQL into a cluster that is to be.
func (d *databaseFlags) addTo(e engine.Engine, c *v1alpha1.DatabaseCluster) error {
	if d.owner != "" && d.database == "" {
		return exit.Misuse("--owner is of the database that --database names")
	}
	if d.database != "" && !e.Capabilities().SQL {
		return exit.Misuse("%s has no databases: --database is of engines that speak SQL", e.Name())
	}
	if d.database != "" {
		if d.owner == "" {
			d.owner = d.database
		}
		c.Spec.Auth.Users = append(c.Spec.Auth.Users, v1alpha1.DatabaseUser{Name: d.owner, Prefix: d.database})
	}
	if d.sql != "" {
		c.Spec.InitialSQL = &v1alpha1.InitialSQL{Secret: d.sql, User: d.owner}
	}
	return nil
}
