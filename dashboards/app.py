"""The dashboard's entry: ``harness dashboard`` serves it. Pages, filters, and what fails."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent

if "dashboards" not in sys.modules:
    # Loaded from where this file is: in the wheel and in a checkout it stands in different places,
    # and a folder on the path would offer every module in it to everybody.
    spec = spec_from_file_location(
        "dashboards", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
    )
    assert spec is not None  # noqa: S101 - the file is beside this one
    assert spec.loader is not None  # noqa: S101
    module = module_from_spec(spec)
    sys.modules["dashboards"] = module
    spec.loader.exec_module(module)

from dashboards import data, filters, show  # noqa: E402
from dashboards.words import t  # noqa: E402
from harness.errors import HarnessError  # noqa: E402

PAGES = {
    "overview": "Overview",
    "compare": "Compare presets",
    "episode": "Episode",
    "tune": "Tune",
    "guards": "Guards",
    "data": "Data",
}

st.set_page_config(
    page_title="guard-harness", page_icon=str(HERE / "icon.png"), layout="wide",
    menu_items={"About": "guard-harness: what ends your agent loops, and why."},
)  # fmt: skip
filters.language()
# Not in a folder `pages`: Streamlit would run those by themselves, without what stands here.
page = st.navigation(
    [
        st.Page(f"views/{name}.py", title=t(title), url_path=name, default=name == "overview")
        for name, title in PAGES.items()
    ]
)
try:
    if data.ready():
        filters.sidebar()
        page.run()
        data.follow()
    else:
        show.empty("There is no run in this store yet.", "harness run")
        st.text(str(data.path()))
        data.follow()
except HarnessError as error:
    st.error(t("This cannot be shown:"))
    show.plain(str(error))
    data.follow()
