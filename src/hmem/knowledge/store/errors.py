"""What every engine may find: rows that it reads without complaint, and that cannot have been written."""


class DamageError(Exception):
    """Each engine makes a StoreError of it, in its own words."""


def damage(what: str) -> DamageError:
    return DamageError(what)
