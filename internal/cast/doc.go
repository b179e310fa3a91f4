// Package cast knows the roles of each workspace and the models that play them: it reads both from
// the files and settings that name them, for agents, for people and for other programs.
//
// It may import the settings, the adapters of models, and the ports that it fills. It promises that
// an edit of a role is seen within seconds, that a denial of the person who runs the machine holds
// for runs that began before it, and that no secret of the vault is in a prompt.
package cast
