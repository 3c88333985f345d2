// Package valkey holds the tests of Valkey and Redis on a real cluster.
package valkey
