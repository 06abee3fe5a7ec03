"""What tests of the work share."""

import pytest

from erlbench.work.store import Store
from erlbench.work.workspace import Workspace


@pytest.fixture
def workspace():
    store = Store.create()
    made = Workspace(store)
    yield made
    made.close()
    store.close()
