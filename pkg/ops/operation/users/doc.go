// Package users holds the operations on who may log in to a cluster: users, their passwords, and whether clients must
// log in at all.
package users
