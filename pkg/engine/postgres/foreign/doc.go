// Package foreign reads servers of PostgreSQL that something else made: a chart, another operator, a person. It writes
// nothing: sessions are read-only, and nobody is asked to change anything.
package foreign
