// Package access holds the commands about users, passwords and certificates.
package access
