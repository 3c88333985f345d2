// Package postgres holds the tests of PostgreSQL on a real cluster.
package postgres
