// Package policy says what an operator does next with a custom resource: what an
// edit asks for, what is put back unasked, and what waits for a person.
package policy
