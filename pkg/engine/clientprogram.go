package engine

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// ClientProgram is what an Engine also is if people have a program of its own
// to speak to the database with.
type ClientProgram interface {
	// Way is how the program gets to a cluster.
	Way(c *v1alpha1.DatabaseCluster) ClientWay
	// InPod is the argv that, in a member's pod, runs the program which the
	// database's own image brings along. Without args it shows something useful.
	InPod(c *v1alpha1.DatabaseCluster, as ClientLogin, args []string) []string
	// OnMachine is the same program on a person's machine. What is secret goes
	// into the environment or is in a file; never into argv.
	OnMachine(args []string, at ClientEndpoint) Program
}

// ClientLogin is who a program in a pod is, and where. The zero value is the administrator, whom the way in names.
type ClientLogin struct {
	// User logs in by password: it is one with a name, and Way names a place for secrets.
	User User
	// PasswordFile is a file of the pod with the password. The program takes it into its environment and removes the file
	// first. "": the program asks for the password.
	PasswordFile string
	// Database is one whose users have databases; "" is that of the user.
	Database string
}

// ClientWay is how a person's program gets to a cluster.
type ClientWay struct {
	// OnMachine: a program in a pod would be refused, for it can't be given what it must log in with, neither by its
	// environment, which is the pod's, nor by its arguments, which everybody sees.
	OnMachine bool
	// Leader: unless a person names another member, it is the one that leads.
	Leader bool
	// Secrets is a directory of the pod, in its memory, where the password of a user may be until the program takes it; ""
	// where a program in a pod can't log in.
	Secrets string
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
