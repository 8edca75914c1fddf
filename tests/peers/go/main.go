// go-peer is the peer made with grpc-go; ../README.md describes the words it understands.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const maxMessage = 32 << 20

// options are the words behind a command.
type options struct {
	address    string // as net.Dial takes it
	network    string // tcp or unix
	ca         string
	cert       string
	key        string
	serverName string
	rest       []string
}

func parseOptions(words []string, addressFlag string) (options, error) {
	result := options{serverName: "ank-server"}
	address := ""
	targets := map[string]*string{
		addressFlag: &address, "--ca": &result.ca, "--cert": &result.cert, "--key": &result.key,
		"--server-name": &result.serverName,
	}
	for i := 0; i < len(words); i++ {
		target, known := targets[words[i]]
		switch {
		case !known && strings.HasPrefix(words[i], "-"):
			return result, fmt.Errorf("unknown option %s", words[i])
		case !known:
			result.rest = append(result.rest, words[i])
		case i+1 == len(words):
			return result, fmt.Errorf("%s: a value is missing", words[i])
		default:
			i++
			*target = words[i]
		}
	}
	network, place, found := strings.Cut(address, ":")
	if !found || (network != "tcp" && network != "unix") {
		return result, fmt.Errorf("%s: expected tcp:HOST:PORT or unix:PATH, got '%s'", addressFlag, address)
	}
	result.network, result.address = network, place
	if (result.ca == "") != (result.cert == "") || (result.ca == "") != (result.key == "") {
		return result, errors.New("--ca, --cert and --key belong together")
	}
	return result, nil
}

// transport answers with what encrypts a connection, or does not.
func (o options) transport() (credentials.TransportCredentials, error) {
	if o.ca == "" {
		return insecure.NewCredentials(), nil
	}
	certificate, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate found", o.ca)
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   o.serverName,
	}), nil
}

func pattern(size int) []byte {
	result := make([]byte, size)
	for i := range result {
		result[i] = byte(i % 251)
	}
	return result
}

// run answers with the exit code, and with what is to be said about it.
func run(words []string) (int, error) {
	if len(words) == 0 {
		return 2, errors.New("expected cases, serve, call or talk")
	}
	if words[0] == "cases" {
		for _, name := range caseNames() {
			fmt.Println(name)
		}
		return 0, nil
	}
	commands := map[string]struct {
		flag string
		run  func(options) (int, error)
	}{"serve": {"--listen", serve}, "call": {"--connect", call}, "talk": {"--connect", talk}}
	command, known := commands[words[0]]
	if !known {
		return 2, fmt.Errorf("unknown command '%s': expected cases, serve, call or talk", words[0])
	}
	o, err := parseOptions(words[1:], command.flag)
	if err != nil {
		return 2, err
	}
	return command.run(o)
}

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-peer:", err)
	}
	os.Exit(code)
}
