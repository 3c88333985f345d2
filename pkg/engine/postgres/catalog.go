package postgres

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// oldest is the first major version that the agent serves.
const oldest = 15

// Catalog implements engine.Engine: releases that the agent is tested with, in the images
// of the Docker community.
func (*Engine) Catalog() engine.Catalog {
	c := engine.Catalog{Default: "17.12"}
	for _, v := range []string{"15.18", "15.20", "17.12", "18.6"} {
		c.Releases = append(c.Releases, engine.Release{Version: v, Series: versions{}.Series(v),
			Image: "docker.io/library/postgres:" + v})
	}
	return c
}
