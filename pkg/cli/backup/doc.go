// Package backup holds the commands that make, list, verify and restore backups.
package backup
