package engine

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// ClientProgram is what an Engine also is if people have a program of its own
// to speak to the database with.
type ClientProgram interface {
	// Way is how the program gets to a cluster.
	Way(c *v1alpha1.DatabaseCluster) ClientWay
	// InPod is the argv that, in a member's pod, runs the program which the
	// database's own image brings along. Without args it shows something useful.
	InPod(c *v1alpha1.DatabaseCluster, args []string) []string
	// OnMachine is the same program on a person's machine. What is secret goes
	// into the environment or is in a file; never into argv.
	OnMachine(args []string, at ClientEndpoint) Program
}

// ClientWay is how a person's program gets to a cluster.
type ClientWay struct {
	// OnMachine: a program in a pod would be refused, for it can't be given what it must log in with, neither by its
	// environment, which is the pod's, nor by its arguments, which everybody sees.
	OnMachine bool
	// Leader: unless a person names another member, it is the one that leads.
	Leader bool
}

// Program is a command line and what is changed in its environment, as
// NAME=VALUE; without a value the variable is taken away.
type Program struct{ Args, Env []string }

// ClientEndpoint is where a program of this machine finds a member.
type ClientEndpoint struct {
	// Address is host and port.
	Address string
	// CAFile, CertFile and KeyFile are PEM files; "" in plain text.
	CAFile, CertFile, KeyFile string
	// Credentials to log in with; nil where the way in names the user.
	Credentials *Credentials
}
