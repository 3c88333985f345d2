// Package clitest runs command lines in tests: against records in a fake API
// server and databases that do what plans predict.
package clitest
