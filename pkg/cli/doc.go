// Package cli is the command line. Its rooms hold the commands by subject: each
// command makes flags into a request, hands it to package ops and prints what
// comes back. None takes a decision about a database or knows an engine.
package cli
