// Package operatorcmd holds the commands about the operator.
package operatorcmd
