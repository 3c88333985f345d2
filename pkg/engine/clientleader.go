package engine

import "context"

// ClientLeader is what a Session also is if its engine has Capabilities.Routing.
type ClientLeader interface {
	// LeadClients has the members ask now whether the client service leads straight to the leader, and returns once it
	// does. A repeat has no effect. Members do it by themselves too, only later. It fails where they lead no clients.
	LeadClients(ctx context.Context) error
}
