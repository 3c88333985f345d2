package local

import "strings"

// Literal quotes a text for SQL: the E form says what a backslash is.
func Literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// Identifier quotes a name for SQL.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Value quotes a value of a connection string.
func Value(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value) + "'"
}
