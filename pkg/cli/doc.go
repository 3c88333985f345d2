// Package cli is the command line: one file per command, each of which turns
// flags into a request, hands it to package ops and prints what comes back.
// It takes no decision about a database and knows no engine.
package cli
