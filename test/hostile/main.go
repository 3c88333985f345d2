// Command hostile is what a tenant may put into an image in place of etcd: it
// passes every probe, and answers every request without an end.
package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Where etcd serves clients, and where kubelet probes it.
const (
	clients = ":2379"
	probes  = ":2381"
)

func main() {
	serve := answer(endless())
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "--name=") {
			continue
		}
		switch arg[len(arg)-1] {
		case '2':
			serve = answer(manifold())
		case '3':
			serve = babble
		}
	}
	go func() {
		fail(http.ListenAndServe(probes, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		}))) // #nosec G114 -- it serves nobody's good
	}()
	at, err := net.Listen("tcp", clients) // #nosec G102 -- the same
	if err != nil {
		fail(err)
	}
	fail(serve(at))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// endless is a message far longer than any of etcd's; manifold a short one
// with more entries than any of etcd's.
func endless() []byte  { return make([]byte, 64<<20) }
func manifold() []byte { return bytes.Repeat([]byte{0x12, 0}, 100_000) }

// answer says the same to each gRPC request for as long as somebody reads it,
// and to each other request.
func answer(message []byte) func(net.Listener) error {
	calls := grpc.NewServer(grpc.ForceServerCodecV2(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			for {
				if err := stream.SendMsg(message); err != nil {
					return err
				}
			}
		}))
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: &both, // #nosec G112 -- the same
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				calls.ServeHTTP(w, r)
				return
			}
			for err := error(nil); err == nil; {
				_, err = w.Write(message)
			}
		})}
	return server.Serve
}

// babble writes into every connection, and never reads.
func babble(at net.Listener) error {
	for {
		c, err := at.Accept()
		if err != nil {
			return err
		}
		go func() {
			for err := error(nil); err == nil; {
				_, err = c.Write(endless())
			}
		}()
	}
}

// raw is a codec for messages that are bytes already.
type raw struct{}

func (raw) Name() string                         { return "proto" }
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
