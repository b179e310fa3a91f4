// Package sabotage breaks the repository on purpose, one way at a time, and shows that the gate
// turns red. A break is made in a copy of the tree, where the one suite of the gate is run that
// must notice, as the gate runs it. A suite that fails for another reason has noticed nothing: what
// it says must fit the break.
//
// It is test support: nothing that ships may import it.
package sabotage
