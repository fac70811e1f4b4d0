"""The commands about calls: `agent-host decide`, `review …`, `specs …`, `replay`, `reveal`, `forget`, `watch`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from agent_host.command_parts import HomeOption, JsonOption, run_command, settings_of

calls = typer.Typer(add_completion=False)
review = typer.Typer(help="Decisions that wait for a person, and verdicts on them.", no_args_is_help=True)
calls.add_typer(review, name="review")
specs = typer.Typer(help="The specs that calls were made under, as the ledger has them.", no_args_is_help=True)
calls.add_typer(specs, name="specs")

CallArgument = Annotated[str, typer.Argument(help="A call's id (c_…).")]
OwnerArgument = Annotated[str, typer.Argument(help="The id of a call (c_…), a turn (t_…) or a review (r_…).")]
ReviewerOption = Annotated[str, typer.Option("--as", help="Who says so, as the ledger will have it.")]
CommentOption = Annotated[str, typer.Option("--comment", help="Why; the ledger has a commitment to it only.")]


@calls.command()
def decide(
    spec: Annotated[Path, typer.Argument(help="A spec as a YAML file.")],
    values: Annotated[str, typer.Argument(metavar="INPUT", help="Its input, as a JSON object.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
    call_id: Annotated[
        str | None, typer.Option("--call-id", help="c_ and a ULID: the same again gives the same decision.")
    ] = None,
) -> int:
    """Make one constrained call under a spec; status 1 when no output of a model or reviewer came of it."""
    from agent_host.gateways.decide import decide as run_decide

    settings = settings_of(home)
    return run_command(lambda: run_decide(settings, os.environ, spec, values, as_json=as_json, call_id=call_id))


@specs.command("list")
def specs_list(home: HomeOption = None, as_json: JsonOption = False) -> int:
    """List the registered specs, oldest first, each with its hash."""
    from agent_host.gateways.specs import list_specs

    settings = settings_of(home)
    return run_command(lambda: list_specs(settings, os.environ, as_json=as_json))


@specs.command("show")
def specs_show(
    spec_hash: Annotated[str, typer.Argument(help="A spec's hash, or the beginning of it.")], home: HomeOption = None
) -> int:
    """Print a spec's bytes as they were hashed, and nothing else."""
    from agent_host.gateways.specs import show_spec

    settings = settings_of(home)
    return run_command(lambda: show_spec(settings, os.environ, spec_hash))


@calls.command()
def replay(call_id: CallArgument, home: HomeOption = None, as_json: JsonOption = False) -> int:
    """Run a past decision again from its opening and compare; status 1 when it comes out otherwise."""
    from agent_host.gateways.replay import replay_call

    settings = settings_of(home)
    return run_command(lambda: replay_call(settings, os.environ, call_id, as_json=as_json))


@calls.command()
def reveal(owner_id: OwnerArgument, home: HomeOption = None, as_json: JsonOption = False) -> int:
    """Show what a receipt committed to, with the key that proves it."""
    from agent_host.gateways.openings import reveal as run_reveal

    settings = settings_of(home)
    return run_command(lambda: run_reveal(settings, os.environ, owner_id, as_json=as_json))


@calls.command()
def forget(owner_id: OwnerArgument, home: HomeOption = None) -> int:
    """Erase for good what a receipt committed to; the receipt itself stays and still verifies."""
    from agent_host.gateways.openings import forget as run_forget

    settings = settings_of(home)
    return run_command(lambda: run_forget(settings, os.environ, owner_id))


@calls.command()
def watch(
    home: HomeOption = None,
    chain: Annotated[str, typer.Option("--chain", help="decisions, turns, reviews, specs, components.")] = "decisions",
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Whose keys to trust; else what this home's writer wrote.")
    ] = None,
) -> int:
    """Verify the ledger while it grows; status 1 at the first entry that does not hold, 2 without a writer."""
    from agent_host.gateways.watch import watch_chain

    settings = settings_of(home)
    return run_command(lambda: watch_chain(settings, os.environ, chain, policy))


@review.command("list")
def review_list(home: HomeOption = None, as_json: JsonOption = False) -> int:
    """List what waits for a verdict, oldest first."""
    from agent_host.gateways.review import list_reviews

    settings = settings_of(home)
    return run_command(lambda: list_reviews(settings, os.environ, as_json=as_json))


@review.command("accept")
def review_accept(
    call_id: CallArgument, home: HomeOption = None, reviewer: ReviewerOption = "operator", comment: CommentOption = ""
) -> int:
    """Approve the model's output as it stands."""
    from agent_host.gateways.review import give_verdict, ruling_of

    settings, ruling = settings_of(home), ruling_of("approved", reviewer, None, comment)
    return run_command(lambda: give_verdict(settings, os.environ, call_id, ruling))


@review.command("amend")
def review_amend(
    call_id: CallArgument,
    output: Annotated[str, typer.Argument(help="The right output, as JSON that satisfies the spec's output_schema.")],
    home: HomeOption = None,
    reviewer: ReviewerOption = "operator",
    comment: CommentOption = "",
) -> int:
    """Put another output in the place of the model's."""
    from agent_host.gateways.review import give_verdict, ruling_of

    settings, ruling = settings_of(home), ruling_of("amended", reviewer, output, comment)
    return run_command(lambda: give_verdict(settings, os.environ, call_id, ruling))


@review.command("reject")
def review_reject(
    call_id: CallArgument, home: HomeOption = None, reviewer: ReviewerOption = "operator", comment: CommentOption = ""
) -> int:
    """Reject the model's output; the spec's default stands."""
    from agent_host.gateways.review import give_verdict, ruling_of

    settings, ruling = settings_of(home), ruling_of("rejected", reviewer, None, comment)
    return run_command(lambda: give_verdict(settings, os.environ, call_id, ruling))
