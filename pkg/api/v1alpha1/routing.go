package v1alpha1

// Routing is how clients are led to the primary.
type Routing string

// Direct reports whether the client service leads straight to the primary.
func (s *DatabaseClusterSpec) Direct() bool { return s.Routing == RoutingDirect }

// The ways.
const (
	RoutingProxied Routing = "Proxied"
	RoutingDirect  Routing = "Direct"
)
