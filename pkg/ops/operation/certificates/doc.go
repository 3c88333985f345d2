// Package certificates holds the operation on the certificates of a cluster, and how another authority takes the place
// of the one that signs them.
package certificates
