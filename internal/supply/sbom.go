package supply

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// SBOM writes the bill of materials of a built program, in CycloneDX 1.6: the modules that the
// program itself says it was linked from, and the packages of its pages, each with its licences.
// Equal programs have equal bills.
func SBOM(ctx context.Context, root string, p Program, binary string, pages []Part) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	known, err := Modules(ctx, root, p)
	if err != nil {
		return nil, err
	}
	inside, err := linked(info, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", binary, err)
	}
	inside = append(inside, pages...)
	var components []cyclonedx.Component
	for i := range inside {
		c, err := component(&inside[i], info.Deps)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: p.Name, Version: info.Main.Version, BOMRef: "pkg:golang/" + info.Path,
	}}
	bill.Components = &components
	var out bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6)
	if err != nil {
		return nil, fmt.Errorf("write bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// linked picks the parts that a program says it has, and fails when it names one that the sources
// do not.
func linked(info *debug.BuildInfo, known []Part) ([]Part, error) {
	byName := map[string]Part{}
	for _, part := range known {
		byName[part.Name] = part
	}
	found := []Part{byName[Standard]}
	found[0].Version = strings.TrimPrefix(info.GoVersion, "go")
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Sum == "" {
			continue // ours: the module of the root, in the program with the engine inside
		}
		part, ok := byName[m.Path]
		if !ok || part.Version != m.Version {
			return nil, fmt.Errorf("it was built with %s %s, which the sources do not use: build it again", m.Path, m.Version)
		}
		found = append(found, part)
	}
	return found, nil
}

func component(p *Part, built []*debug.Module) (cyclonedx.Component, error) {
	licences, err := Licences(p)
	if err != nil {
		return cyclonedx.Component{}, err
	}
	var choices cyclonedx.Licenses
	for _, name := range Names(p, licences) {
		choices = append(choices, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: name}})
	}
	hash, err := digest(p, built)
	if err != nil {
		return cyclonedx.Component{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	address := packageURL(p)
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, BOMRef: address, PackageURL: address,
		Licenses: &choices, Hashes: hash,
	}, nil
}

func packageURL(p *Part) string {
	name := strings.ReplaceAll(p.Name, "@", "%40")
	return "pkg:" + string(p.Kind) + "/" + name + "@" + url.PathEscape(p.Version)
}

// digest is what go.sum or the lock file of npm say the part hashes to, in the writing of
// CycloneDX.
func digest(p *Part, built []*debug.Module) (*[]cyclonedx.Hash, error) {
	algorithm, encoded := cyclonedx.HashAlgoSHA512, strings.TrimPrefix(p.Integrity, "sha512-")
	if p.Kind == Go {
		algorithm, encoded = cyclonedx.HashAlgoSHA256, ""
		for _, m := range built {
			if m.Path == p.Name {
				encoded = strings.TrimPrefix(m.Sum, "h1:")
			}
		}
	}
	if encoded == "" && p.Name == Standard {
		return nil, nil // a program does not have the checksum of its toolchain
	}
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(sum) == 0 {
		return nil, errors.Join(errors.New("no checksum"), err)
	}
	return &[]cyclonedx.Hash{{Algorithm: algorithm, Value: hex.EncodeToString(sum)}}, nil
}
