"""The dashboard: Streamlit pages over a store, one question each."""
