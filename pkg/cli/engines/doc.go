// Package engines holds the commands about database products, and those that
// only some products have.
package engines
