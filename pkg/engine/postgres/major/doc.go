// Package major converts the data of a major version into that of a later one, by pg_upgrade, which runs the programs
// of both. An image has those of one version: so the others are copied out of an image of the earlier version first.
package major
