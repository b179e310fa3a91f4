package prompt

// OpenQuestion is a question that waits for an answer, as a routing model is shown it.
type OpenQuestion struct {
	ID   string
	Role string
	Text string
}

// Asking is a question of a sub-agent, and the task in which it came up.
type Asking struct {
	Question OpenQuestion
	Task     string
	Options  []string
}

// Resolve asks an orchestrator whether the conversation holds the answer to a question: the
// side turn of kind agent.SideResolve.
func (p *Set) Resolve(a Asking) (string, error) {
	return p.render("resolve.md", resolveData{
		Role: a.Question.Role, Task: a.Task, QuestionID: a.Question.ID, Question: a.Question.Text, Options: a.Options,
	})
}

// Route asks for the class of a person's message while questions are open: the side turn of kind
// agent.SideRoute. The routes are those of agent.Route.
func (p *Set) Route(message string, open []OpenQuestion) (string, error) {
	return p.render("route.md", routeData{Questions: open, Message: message})
}

// Compact asks an agent to sum up its transcript: a turn of kind agent.TurnCompact. Pins are
// the tasks that are open and must not be forgotten.
func (p *Set) Compact(pins []string) (string, error) {
	return p.render("compact.md", compactData{pins})
}

// Title asks for the title of a conversation that begins with a message.
func (p *Set) Title(message string) (string, error) {
	return p.render("title.md", titleData{message})
}
