// Package docs runs the walks of the documentation as they are written. It holds tests only.
package docs
