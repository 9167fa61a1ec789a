"""Every screen, in the order of the menu. A new one is a file, a template of its name, and a line here."""

from safemargin.web.bench import Screen
from safemargin.web.screens import attack, check, data, exposure, home, limits, plan, publish, timeline, work

SCREENS: dict[str, Screen] = {
    screen.name: screen
    for screen in (
        home.SCREEN,
        data.SCREEN,
        limits.SCREEN,
        exposure.SCREEN,
        plan.SCREEN,
        publish.SCREEN,
        attack.SCREEN,
        timeline.SCREEN,
        check.SCREEN,
        work.SCREEN,
    )
}
