// Package clients reaches what is outside of this process for the commands:
// Kubernetes, databases and repositories, behind one interface.
package clients
