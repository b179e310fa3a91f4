package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// closed are the ranges that lead somewhere else than to a public server: to this machine, its
// network, a group of machines, or over a translation to an IPv4 address of any kind.
var closed = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/3",
	"168.63.129.16/32", // a public address that is the metadata service of a cloud
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// open is the one range of IPv6 that public servers have. It leaves out loopback, mapped and
// compatible IPv4, both prefixes of NAT64, local, private and multicast addresses.
var open = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Public reports whether an address is one of a public server. An address with a zone, and an IPv4
// address dressed as IPv6, is not.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !open.Contains(a) {
		return false
	}
	for _, p := range closed {
		if p.Contains(a) {
			return false
		}
	}
	// An IPv4 address behind an ISATAP router.
	b := a.As16()
	return !a.Is6() || b[10] != 0x5e || b[11] != 0xfe || b[8]&^0x03 != 0 || b[9] != 0
}

// target reads host and port of an address that is http or https and nothing unusual.
func (g *Gate) target(u *url.URL) (string, uint16, error) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", 0, denied(fmt.Sprintf("only http and https are let out, not %q", u.Scheme))
	}
	if u.User != nil {
		return "", 0, denied("a user name in the address")
	}
	if u.Opaque != "" {
		return "", 0, invalid("the address has no host")
	}
	port := uint16(80)
	if u.Scheme == "https" {
		port = 443
	}
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return "", 0, invalid("the port is none")
		}
		port = uint16(n)
	} else if strings.HasSuffix(u.Host, ":") {
		return "", 0, invalid("the port is empty")
	}
	host, err := checkHost(u.Hostname())
	return host, port, err
}

// checkHost gives the one spelling of a host that rules are compared with. It refuses what
// resolvers and libraries read in more than one way.
func checkHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", invalid("the host is no plain IPv6 address")
		}
		return a.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", invalid("the host is empty or too long")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return "", invalid("the host is no name")
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", invalid("the host has a character that names do not have; spell it in ASCII")
			}
		}
	}
	if last := labels[len(labels)-1]; numeric(last) {
		a, err := netip.ParseAddr(name)
		if err != nil || !a.Is4() {
			return "", invalid("the host is a number that is no plain IPv4 address")
		}
		return a.String(), nil
	}
	return name, nil
}

// numeric is what some libraries read as a part of an IPv4 address: digits, or a hexadecimal
// number.
func numeric(label string) bool {
	if digits, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
