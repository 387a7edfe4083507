# SPDX-License-Identifier: LGPL-2.1-or-later
"""An agent on nsrun for Python (scripts/packages/python): it works on a layer over the project, and a person takes what
it made.  The model is a function: messages and a tool's description in, {"command", "timeout"} or {"text"} out.

As a program: agent.py PROJECT TASK, with a person at the terminal as the model
"""
import sys

import nsrun


def agent(model, task, project, approve, **options):
    """Returns what the model says at the end."""
    messages = [{"role": "user", "text": task}]
    with nsrun.Session(project=project, overlay=project, **options) as session:
        tool = nsrun.describe(session=session.id)
        while "command" in (said := model(messages, tool)):
            try:
                text = session.bash_text(said["command"], timeout=said.get("timeout"))
            except nsrun.Error as error:
                text = f"Error: {error}"
            messages += [{"role": "model", **said}, {"role": "tool", "text": text}]
        if any(overlay["changes"] for overlay in session.changes()["overlays"]):
            patch, digest = session.diff(patch=True, digest=True).rsplit("# digest: ", 1)
            if approve(patch):
                session.commit(expect=digest.strip())
    return said["text"]


def person(messages, tool):
    print(messages[-1]["text"])
    line = input(f"{tool['name']}> ")
    return {"command": line} if line else {"text": "done"}


if __name__ == "__main__":
    try:
        print(agent(person, sys.argv[2], sys.argv[1], lambda patch: input(f"{patch}Take it? [y/N] ") == "y"))
    except (nsrun.Error, EOFError) as failure:
        sys.exit(f"agent.py: {failure}")
